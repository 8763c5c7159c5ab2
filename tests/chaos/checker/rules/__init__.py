"""Each rule is a function of its own, with the sentence that it judges."""
from . import (calls, elections, ends, exclusion, guarded, healing, jobs, lease, losses, order, store,
               tokens)  # each registers its rules

__all__ = ["calls", "elections", "ends", "exclusion", "guarded", "healing", "jobs", "lease", "losses", "order", "store",
           "tokens"]
