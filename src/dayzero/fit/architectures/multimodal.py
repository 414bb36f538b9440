"""Models that see: a language model, and a tower beside it."""

from dataclasses import dataclass

from dayzero.fit.architectures import moonvit, towers
from dayzero.fit.architectures.towers import Tower
from dayzero.fit.architectures.weights import Names

_INSIDE = Names(root="language_model.model.", head="language_model.lm_head")
_BESIDE = Names(root="model.language_model.")
_PLAIN = Names()


@dataclass(frozen=True, slots=True)
class Seeing:
    """One architecture with a vision tower.

    Attributes:
        architecture: As ``architectures`` names it.
        model_type: Of the whole configuration.
        text: Model type of the language model where the nested part names none that is known.
        names: Where the language model stands.
        tower: Lists the tower and the projector.
        vision: The only model types that the tower may have; empty where it has no choice.
    """

    architecture: str
    model_type: str
    text: str
    names: Names
    tower: Tower
    vision: tuple[str, ...] = ()


SEEING = (
    Seeing("Gemma3ForConditionalGeneration", "gemma3", "gemma3_text", _INSIDE, towers.siglip, ("siglip_vision_model",)),
    Seeing("Mistral3ForConditionalGeneration", "mistral3", "mistral", _INSIDE, towers.pixtral, ("pixtral",)),
    Seeing("LlavaForConditionalGeneration", "llava", "llama", _INSIDE, towers.pixtral, ("pixtral",)),
    Seeing("Llama4ForConditionalGeneration", "llama4", "llama4_text", _INSIDE, towers.llama4),
    Seeing("Qwen2VLForConditionalGeneration", "qwen2_vl", "qwen2", _PLAIN, towers.qwen2_vl),
    Seeing("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", "qwen2", _PLAIN, towers.qwen2_5_vl),
    Seeing("Qwen3VLForConditionalGeneration", "qwen3_vl", "qwen3", _BESIDE, towers.qwen3_vl),
    Seeing("Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe", "qwen3_vl_moe_text", _BESIDE, towers.qwen3_vl),
    Seeing("Qwen3_5ForConditionalGeneration", "qwen3_5", "qwen3_5_text", _BESIDE, towers.qwen3_vl),
    Seeing("Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", "qwen3_5_moe_text", _BESIDE, towers.qwen3_vl),
    Seeing("Glm4vMoeForConditionalGeneration", "glm4v_moe", "glm4_moe", _BESIDE, towers.glm4v),
    Seeing("KimiVLForConditionalGeneration", "kimi_vl", "deepseek_v3", _INSIDE, moonvit.kimi_vl),
    Seeing("KimiK25ForConditionalGeneration", "kimi_k25", "deepseek_v3", _INSIDE, moonvit.kimi_k2_5),
    Seeing("Kimi_K25ForConditionalGeneration", "", "deepseek_v3", _INSIDE, moonvit.kimi_k2_5),
    Seeing("KimiK3ForConditionalGeneration", "kimi_k3", "kimi_linear", _INSIDE, moonvit.kimi_k2_5),
)
