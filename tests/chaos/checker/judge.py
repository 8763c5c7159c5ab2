"""The rules, and what they found."""
import collections

RULES = {}
NOTES = []
EXAMPLES = 5  # of each rule that is violated, so many are told in full


class Rule:
    def __init__(self, name, event, sentence, judge):
        self.name = name
        self.event = event
        self.sentence = sentence
        self.judge = judge


def rule(event, sentence):
    """Makes a function a rule: it is called at each such event, or at each of several, with the world and what
    happened, and yields what is wrong. `sentence` is what was promised, as it stands in docs/ or include/."""

    def register(function):
        if function.__name__ in RULES:
            raise ValueError(f"two rules {function.__name__}")
        RULES[function.__name__] = Rule(function.__name__, event, sentence, function)
        return function

    return register


def note(event):
    """Makes a function one that remembers what rules ask for: it is called after the event's rules."""

    def register(function):
        NOTES.append(Rule(function.__name__, event, None, function))
        return function

    return register


class Violation:
    def __init__(self, name, at, text):
        self.rule = name
        self.at = at
        self.text = text

    def __str__(self):
        return f"{self.rule}: {self.text} (at {self.at / 1e9:.6f} s)"


class Judge:
    """Calls the rules, and counts what they find."""

    def __init__(self, rules):
        self.found = collections.Counter()
        self.examples = []
        self.not_judged = []  # what of the run, and why
        self.world = None
        self.by_event = collections.defaultdict(list)
        for one in [*rules, *NOTES]:
            for event in (one.event,) if isinstance(one.event, str) else one.event:
                self.by_event[event].append((one, one.judge))

    def tell(self, event, *what):
        rules = self.by_event.get(event)
        if rules is None:
            return
        world = self.world
        for one, look in rules:
            for found in look(world, *what) or ():
                if isinstance(found, tuple):
                    self.remind(one, *found)
                else:
                    self.note(one.name, found)

    def remind(self, one, due, look):
        """A rule yields what is wrong, or (due, look) for a look at a later time. That yields what is wrong, or the
        time of the next look: so it need not name itself, which would keep it in memory until Python looks for
        circles."""
        self.world.remind(due, lambda now: self.look(one, look, now))

    def look(self, one, look, now):
        for found in look(now) or ():
            if isinstance(found, int):
                self.remind(one, found, look)
            else:
                self.note(one.name, found)

    def leave_out(self, what):
        """Notes what could not be judged."""
        self.not_judged.append(what)

    def note(self, name, text):
        """Notes a violation."""
        self.found[name] += 1
        if self.found[name] <= EXAMPLES:
            self.examples.append(Violation(name, self.world.now, text))
