"""The shared code of the executable edition of *A Mathematical Framework for Transformer Circuits*.

Imports only go down this list; `make lint` holds the order (`pyproject.toml`, import-linter).

| folder | what lives there |
|---|---|
| `__main__` | the command line |
| `claims` | what is said, when it counts, how it is measured, what came out |
| `experiments` | long runs: what is measured along them, and the records they left |
| `interop` | models of others as ours, and ours as theirs |
| `analysis` | the paper: circuits in the weights, and what heads do on text |
| `training` | how models are trained, and where trained ones lie |
| `model` | the mathematics |
| `figures` | arrays and labels in, pictures out |
| `book` | what a chapter calls: set-up, checks, exercises; how chapters are executed |
| `text` | what the models read |
| `record` | what a figure, a table, a check or a verdict leaves as data |
| `settings`, `files` | tables of TOML; safe reading and writing |

Nothing is re-exported here: `from transformer_circuits.analysis import heads` says where to look.
"""
