/* The page at "/", from page.html by the build. */
#pragma once

extern const char page_html[];
