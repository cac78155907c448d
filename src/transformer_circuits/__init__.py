"""The shared code of the executable edition of *A Mathematical Framework for Transformer Circuits*.

Imports only go down this table; `tests/test_layers.py` enforces it.

| layer | modules |
|---|---|
| 0 values | `config`, `files`, `lowrank`, `claims` |
| 1 world | `cleaning`, `packages`, `hardware`, `tokenizer`, `corpus`, `model` |
| 2 objects | `checkpoint`, `training`, `heads`, `packed` |
| 3 the paper | `bigrams`, `expansion`, `skip_trigrams`, `families`, `bugs`, `spectra`, `patterns`, `ablation`, `importance`, `composition`, `induction`, `development`, `hand_built`, `folding`, `bases` |
| 4 figures | `drawing`, `labels`, `plots`, `tables`, `views`, `hover`, `charts`, `diagrams` |
| 5 edges | `seeds`, `bench`, `book`, `exercises`, `reference`, `web`, `editions`, `__main__` |

Nothing is re-exported: `heads.full_ov(...)` in a chapter says where to look.
"""

__version__ = "0.1.0"
