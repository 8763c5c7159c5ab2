"""Which kinds of locks each process of a fleet has, drawn from the run's seed."""
import random


def drawn(seed, processes, handles, kinds):
    """The kinds of each process, one for each of its handles. All kinds occur if there are so many handles, and each
    in two processes if there are twice as many."""
    order = list(kinds)
    random.Random(f"mix {seed}").shuffle(order)
    chosen = [[] for _ in range(processes)]
    for place in range(processes * handles):
        turn, number = divmod(place, len(order))
        shift = turn if len(order) % processes == 0 else 0  # or each kind would come to the same process again
        chosen[(place + shift) % processes].append(order[number])
    return chosen
