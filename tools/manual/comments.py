"""What the comment of a declaration says, by the section of a page: description, threads, what is returned."""
import re

import blocks
import mdoc
from blocks import Terms, Text

RETURNS = re.compile(r"Returns(?: (?=ZKL_)|$| 1| what zkl_| a static| the empty)|Each returns (?=ZKL_)|The statuses are as in \w+\(\): ")
GOES_ON = re.compile(r"(?:Or|On|After) (?=.*ZKL_|it was not|nothing has|th(?:is|ese) )|ZKL_\w+: ")
THREADS = re.compile(r"Blocks\b|Does not block|Any thread|May be called from|Waits only for|Call it once|No I/O"
                     r"|From a try|Several (?:at once )?may|A try blocks")
RULE = re.compile(r"Rule: ")
# What explains a summary, and is left out of it.
EXPLANATION = re.compile(r": |; | \(|, (?=(?:which|as|whatever|so that|with retries|or|from|and|for|in that|if|by|each|both"
                         r"|of the same|with its|in place|in addition|below) |\w+s as )")
SECOND_VERB = re.compile(r" and (\w+s) (?=the |until |what )")
BASE_FORMS = {"ies": "y", "ches": "ch", "sses": "ss", "shes": "sh"}


def base_form(verb):
    for end, other in BASE_FORMS.items():
        if verb.endswith(end):
            return verb[:-len(end)] + other
    return verb.removesuffix("s")


def as_order(text):
    """Of what a function does: "Opens a client" is "open a client"."""
    word, _, rest = SECOND_VERB.sub(lambda verb: f" and {base_form(verb[1])} ", text).partition(" ")
    if word != "Returns":
        return f"{base_form(word) if word.endswith('s') and word != 'This' else word} {rest}".strip()
    is_question = re.match(r"whether|\d", rest)
    return re.sub(r"^tell 1 if (.*), else 0$", r"tell whether \1", f"{'tell' if is_question else 'get'} {rest}")


def summary_of(comment, is_function):
    """For NAME: the first sentence, without what explains it."""
    first = mdoc.sentences(blocks.joined(comment.split("\n\n")[0].split("\n")))[0]
    text = " ".join(EXPLANATION.split(first)[0].rstrip(".:").replace("`", "").split())
    text = as_order(text) if is_function else text
    return text if text[1:2].isupper() else text[0].lower() + text[1:]


def as_sentence(text):
    text = text.strip().rstrip(",;:").strip()
    is_name = re.match(r"zkl_|\w+_|`|docs/", text)
    begins = text if is_name else text[:1].upper() + text[1:]
    return begins + ("" if not text or text.endswith((".", "?", ".)")) else ".")


class Parts:
    """What the comment of a function says, by the section of its page."""

    def __init__(self, parsed):
        self.description, self.threads, self.returns, self.rules = [], [], [], []
        self.is_in_returns = False
        for block in parsed:
            if isinstance(block, Text) and RULE.match(block.text):
                self.rules.append(block.text)
            elif isinstance(block, Text):
                self.take_text(block.text)
            elif isinstance(block, Terms) and block.terms and block.terms[0][0].startswith("ZKL_") and self.returns:
                self.returns.append(block)
            else:
                self.is_in_returns = False
                self.description.append(block)

    def take_text(self, text):
        kept = []
        is_first = not self.description and not self.returns
        for i, sentence in enumerate(mdoc.sentences(text)):
            begins = (RETURNS.match(sentence) and not (is_first and i == 0)) or (self.returns and GOES_ON.match(sentence))
            self.is_in_returns = bool(begins) or (self.is_in_returns and i > 0)
            if THREADS.match(sentence):
                self.threads.append(sentence)
            elif self.is_in_returns:
                self.returns.append(Text(sentence))
            else:
                kept.append(sentence)
        self.is_in_returns = False
        if kept:
            self.description.append(Text(" ".join(kept)))
