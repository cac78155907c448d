LEARNED = """
const training = new T.Training({ seed: given.seed, ...given.what });
training.run(given.steps);
const { patterns, ...found } = training.look();
answer(found);
"""

HALF = 0.5
"""At least half of the attention where an induction head would look counts as matching."""


@pytest.mark.parametrize("seed", range(3))
def test_two_layers_learn_to_match_and_one_learns_it_only_with_shifted_keys(seed):
    def matching(**what):
        found = in_node(LEARNED, {"seed": seed, "what": what, "steps": STEPS})
        return max(found["matching"][-1]), found

    two, record = matching(n_layers=2, seen=[1, 0])
    assert two > HALF and max(record["previous"][0]) > HALF
    assert matching(n_layers=1)[0] < HALF / 2
    assert matching(n_layers=2, seen=[0, 0])[0] < HALF / 2
    assert matching(n_layers=1, shifted=True)[0] > HALF
