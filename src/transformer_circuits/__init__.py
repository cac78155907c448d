"""The shared code of the executable edition of *A Mathematical Framework for Transformer Circuits*.

Imports only go down this list; `make lint` holds the order (`pyproject.toml`, import-linter).

| folder | contents |
|---|---|
| `__main__` | the command line |
| `claims` | claims, their rules, their measurements, their verdicts |
| `experiments` | long runs: measurements along them, and their records |
| `interop` | models of others as ours |
| `analysis` | the paper: circuits in the weights, and behaviour of heads on text |
| `training` | training of models, and trained models on disk |
| `model` | the mathematics |
| `figures` | figures from arrays and labels |
| `book` | functions for chapters: set-up, checks, exercises; execution of chapters |
| `text` | text for the models |
| `record` | data of a figure, a table, a check or a verdict |
| `settings`, `files` | tables of TOML; safe reading and writing |

Nothing is re-exported here: `from transformer_circuits.analysis import heads` names its place.
"""
