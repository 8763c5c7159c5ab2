/* The page at "/". The build makes it of page.html. */
#pragma once

extern const char page_html[];
