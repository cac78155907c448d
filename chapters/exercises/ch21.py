"""What tells right answers from wrong ones in the exercises of *Scorecard*.

Read it after you have tried: some of it comes close to an answer.
"""

from dataclasses import replace

from transformer_circuits.book.exercises import Exercise
from transformer_circuits.claims import about_induction, catalogue, rules


def paper_only(counts) -> Exercise:
    """Only the paper."""
    first = counts[0]
    n_paper = sum(first[v] for v in rules.VERDICTS)
    share_of_paper = first["reproduced"] / n_paper
    return Exercise(
        lambda share: (
            type(share) is not bool and abs(share - share_of_paper) * n_paper < 0.4
        ),
        wrong=[share_of_paper + 0.1, share_of_paper - 0.1, 100 * share_of_paper + 1],
    )


def padding(every, trained, n_held) -> Exercise:
    """What padding would bring."""
    n_reproduced = every["reproduced"]
    honest = n_reproduced / len(trained)
    padded = (n_reproduced + n_held) / (len(trained) + n_held)
    return Exercise(
        lambda rise: type(rise) is not bool and abs(rise - (padded - honest)) < 1e-6,
        wrong=[padded - honest + 0.1, honest - padded - 0.1, padded + 1],
    )


def rule() -> Exercise:
    """The rule of the verdicts."""
    a_rule = replace(about_induction.best_matching.claim, side="above", threshold=0.0)
    over, across, under = (rules.Interval(x, x - 1, x + 1, 9) for x in (2.0, 0.0, -2.0))
    expected = {}
    for case in [(b, s, n, c) for n in (1, 2, 3, 4) for b in range(n + 1)
                 for s in range(n + 1 - b) for c in (False, True)]:  # fmt: skip
        n_beyond, n_short, n_seeds, passes = case
        seeds = [over] * n_beyond + [under] * n_short
        seeds += [across] * (n_seeds - len(seeds))
        controls = {"untrained": over if passes else under}
        expected[case] = rules.verdict(a_rule, dict(enumerate(seeds)), controls)[0]
    return Exercise(
        lambda f: all(f(*case) == given for case, given in expected.items()),
        wrong=[
            lambda *case: "reproduced",
            lambda b, s, n, c: rules.VERDICTS[0 if b > s else 3],
            lambda b, s, n, c: rules.MIXED if 0 < b < n else rules.UNDECIDED,
        ],
    )


def disputed(open_claims) -> Exercise:
    """A claim to quarrel with."""

    def is_open(named):  # an id, the end of a link, or the claim itself
        name = str(getattr(named, "id", named)).rpartition("#claim-")[2].strip()
        if name not in catalogue.claims():
            raise ValueError(f"there is no claim with the id {name!r}")
        return name in open_claims

    wrong = [c.id for c in catalogue.claims().values() if c.kind == "identity"][:2]
    return Exercise(is_open, wrong=wrong)
