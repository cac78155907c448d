"""The folders that a model hub shows: one for each model, with its card, and one for the text.

`measures` is what a model's card states of it, with intervals; `cards` writes the cards (our prose
is in `model_card.md` and `dataset_card.md`), and `folders` puts all together.
"""
