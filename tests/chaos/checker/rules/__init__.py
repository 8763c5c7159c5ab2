"""Each rule is a function of its own, with the sentence that it judges."""
from . import (calls, contention, elections, ends, exclusion, expiry, guarded, healing, jobs, lease, losses, order, store,
               tokens)  # each registers its rules

__all__ = ["calls", "contention", "elections", "ends", "exclusion", "expiry", "guarded", "healing", "jobs", "lease", "losses",
           "order", "store", "tokens"]
