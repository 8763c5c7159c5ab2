"""Each rule is a function of its own, with the sentence that it judges."""
from . import calls, ends, exclusion, guarded, healing, lease, losses, order, store, tokens  # each registers its rules

__all__ = ["calls", "ends", "exclusion", "guarded", "healing", "lease", "losses", "order", "store", "tokens"]
