"""The shape of a model, as `config.toml` has it."""

from dataclasses import asdict, dataclass, fields

from transformer_circuits import files
from transformer_circuits.settings import Table

LARGEST = 2**31
"""Most numbers of a model: so many take 8 GiB. A slip in a config is far beyond."""


@dataclass(frozen=True)
class ModelConfig(Table):
    """The shape of a transformer, attention-only unless it has `d_mlp`.

    Names are the paper's (appendix "Notation").
    """

    table = "model"

    n_layers: int
    n_heads: int
    d_model: int
    d_head: int
    n_vocab: int
    n_ctx: int
    position_base: float
    """Base of the sinusoids: their frequencies fall from π to about π / position_base radians per token,
    so the longest period is about 2 · position_base tokens."""
    begin: bool = True
    """True if every context opens with BEGIN; if not, BEGIN stands only where a document begins."""
    d_mlp: int = 0
    """Neurons of the MLP after each attention layer; 0 where there are none, as in the paper."""

    def __post_init__(self):
        for field in (field for field in fields(self) if field.name != "begin"):
            least = 0 if field.name in ("n_layers", "d_mlp") else 1
            value = getattr(self, field.name)
            self._require(value >= least, field.name, value, f"be at least {least}")
        even = self.d_model % 2 == 0
        self._require(even, "d_model", self.d_model, "be even: sinusoids come in pairs")
        a_layer = 4 * self.n_heads * self.d_head + 2 * self.d_mlp
        vectors = 2 * self.n_vocab + self.n_ctx + self.n_layers * a_layer
        if (size := self.d_model * vectors) > LARGEST:
            sizes = ", ".join(f"{name} {value:,}" for name, value in asdict(self).items())
            raise files.UserError(
                f"[{self.table}] is of {size:,} numbers but at most {LARGEST:,} can be: {sizes}"
            )
