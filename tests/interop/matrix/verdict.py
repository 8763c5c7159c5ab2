"""Where a run differs from the table."""
from . import table


def mismatches(results):
    known = {cell.name: cell for cell in table.load()}
    found = []
    for one in results["cells"]:
        cell = known[table.name_of(one["ours"], one["library"], one["kind"])]
        found += [*of_directions(cell, one), *of_steps(cell, one)]
    for one in results["specials"]:
        found += of_special(one)
    return found


def of_directions(cell, found):
    for way, expected in (("they", cell.they), ("we", cell.we)):
        met = found[way].get("met", found[way].get("failed"))
        if met != ("beside" if expected == "shares" else expected):
            yield f"{cell.name}: {way}: {met}, but {expected} is expected"


def of_steps(cell, found):
    """A step may fail only by a known defect of the peer, of which one of its steps fails with the peer alone as well."""
    for step, measured in found.get("steps", {}).items():
        if measured["passed"]:
            continue
        defect, alone = cell.defect_of(step), found["alone"]
        if defect is None or all(alone[other]["passed"] for other in alone if other in defect["steps"]):
            yield (f"{cell.name}: {step}: {measured['failed']}; the peer alone: {alone[step].get('failed', 'passes')};"
                   f" known: {'no defect' if defect is None else defect['text']}")


def of_special(found):
    for step, measured in found["steps"].items():
        if measured["passed"] == (step in found["red"]):
            yield f"{found['name']}: {step}: {measured.get('failed', 'passes, and must not')}"
