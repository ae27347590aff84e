"""The models of transformers: two layers of the usual kinds, few words.

A row of a table is the classes of the model and of its settings, and the settings.
"""
from torch import nn

IMAGE = {"x": (("batch", 3, 224, 224), "image")}
WAVE = {"x": (("batch", "wave"), "image")}
IDS = {"input_ids": (("batch", "seq"), "ids")}
TEXT = {**IDS, "attention_mask": (("batch", "seq"), "mask")}
BOTH = {**IDS, "decoder_input_ids": (("batch", "past"), "ids")}


class First(nn.Module):
    """A model whose result is its first tensor, called by position."""

    def __init__(self, model, names, **fixed):
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *args):
        return self.model(**dict(zip(self.names, args)), **self.fixed, return_dict=False)[0]


def made(model, kind, settings):
    import transformers

    return getattr(transformers, model)(getattr(transformers, kind)(**settings)).eval()


SMALL = {"vocab_size": 100, "num_hidden_layers": 2}
NARROW = {**SMALL, "hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 256}
# As GPT-2 and T5 name their settings.
GPT = {"vocab_size": 100, "n_layer": 2, "n_embd": 128, "n_head": 4, "use_cache": False}
T5 = {"vocab_size": 100, "d_model": 256, "d_kv": 32, "d_ff": 512, "num_layers": 2, "num_heads": 8}
NARROW_T5 = {"vocab_size": 100, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4}

# Takes words and a mask.
TEXTS = {
    "albert": ("AlbertModel", "AlbertConfig", {**SMALL, "hidden_size": 256, "num_attention_heads": 8, "intermediate_size": 1024}),
    "bert": ("BertModel", "BertConfig", SMALL),
    "big_bird": ("BigBirdModel", "BigBirdConfig", {**NARROW, "attention_type": "original_full"}),
    "biogpt": ("BioGptModel", "BioGptConfig", {**NARROW, "use_cache": False}),
    "bloom": ("BloomModel", "BloomConfig", {"vocab_size": 100, "n_layer": 2, "hidden_size": 128, "n_head": 4, "use_cache": False}),
    "camembert": ("CamembertModel", "CamembertConfig", SMALL),
    "clip_text": ("CLIPTextModel", "CLIPTextConfig", NARROW),
    "codegen": ("CodeGenModel", "CodeGenConfig", {**GPT, "rotary_dim": 16, "n_positions": 128, "n_ctx": 128}),
    "convbert": ("ConvBertModel", "ConvBertConfig", {**NARROW, "embedding_size": 128}),
    "ctrl": ("CTRLModel", "CTRLConfig", {**GPT, "dff": 256}),
    "data2vec_text": ("Data2VecTextModel", "Data2VecTextConfig", NARROW),
    "deberta": ("DebertaModel", "DebertaConfig", {**SMALL, "hidden_size": 256, "num_attention_heads": 8}),
    "deberta_v2": ("DebertaV2Model", "DebertaV2Config",
                   {**SMALL, "hidden_size": 256, "num_attention_heads": 8, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "distilbert": ("DistilBertModel", "DistilBertConfig", {"vocab_size": 100, "n_layers": 2}),
    "electra": ("ElectraModel", "ElectraConfig", SMALL),
    "ernie": ("ErnieModel", "ErnieConfig", SMALL),
    "esm": ("EsmModel", "EsmConfig", {**NARROW, "pad_token_id": 1, "position_embedding_type": "rotary", "emb_layer_norm_before": True}),
    "flaubert": ("FlaubertModel", "FlaubertConfig", {"vocab_size": 100, "emb_dim": 128, "n_layers": 2, "n_heads": 4}),
    "funnel": ("FunnelBaseModel", "FunnelConfig", {"vocab_size": 100, "block_sizes": [1, 1], "d_model": 128, "n_head": 4, "d_head": 32}),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"vocab_size": 100, "n_layer": 2, "use_cache": False}),
    "gpt_bigcode": ("GPTBigCodeModel", "GPTBigCodeConfig", GPT),
    "gpt_neo": ("GPTNeoModel", "GPTNeoConfig", {"vocab_size": 100, "num_layers": 2, "attention_types": [[["global", "local"], 1]],
                                               "hidden_size": 256, "num_heads": 8, "use_cache": False}),
    "gpt_neox": ("GPTNeoXModel", "GPTNeoXConfig", {**SMALL, "hidden_size": 256, "num_attention_heads": 8, "intermediate_size": 512,
                                                  "use_cache": False}),
    "gptj": ("GPTJModel", "GPTJConfig", {**GPT, "rotary_dim": 16, "n_positions": 128}),
    "ibert": ("IBertModel", "IBertConfig", NARROW),
    "layoutlm": ("LayoutLMModel", "LayoutLMConfig", SMALL),
    "llama": ("LlamaModel", "LlamaConfig", {**SMALL, "hidden_size": 256, "num_attention_heads": 8, "intermediate_size": 512,
                                           "use_cache": False}),
    "longformer": ("LongformerModel", "LongformerConfig", {**NARROW, "attention_window": [8, 8], "max_position_embeddings": 130}),
    "longt5_encoder": ("LongT5EncoderModel", "LongT5Config", {**NARROW_T5, "local_radius": 7, "global_block_size": 4,
                                                             "encoder_attention_type": "transient-global"}),
    "megatron_bert": ("MegatronBertModel", "MegatronBertConfig", NARROW),
    "mobilebert": ("MobileBertModel", "MobileBertConfig", SMALL),
    "mpnet": ("MPNetModel", "MPNetConfig", SMALL),
    "mt5_encoder": ("MT5EncoderModel", "MT5Config", NARROW_T5),
    "nezha": ("NezhaModel", "NezhaConfig", NARROW),
    "nystromformer": ("NystromformerModel", "NystromformerConfig", {**NARROW, "segment_means_seq_len": 16, "num_landmarks": 4}),
    "openai_gpt": ("OpenAIGPTModel", "OpenAIGPTConfig", {"vocab_size": 100, "n_layer": 2, "n_embd": 128, "n_head": 4}),
    "opt": ("OPTModel", "OPTConfig", {**SMALL, "hidden_size": 256, "num_attention_heads": 8, "ffn_dim": 512, "word_embed_proj_dim": 256,
                                     "use_cache": False}),
    "perceiver": ("PerceiverForMaskedLM", "PerceiverConfig",
                  {"vocab_size": 100, "d_model": 64, "d_latents": 64, "num_latents": 16, "num_self_attends_per_block": 2,
                   "num_self_attention_heads": 4, "num_cross_attention_heads": 4, "max_position_embeddings": 64, "qk_channels": 64,
                   "v_channels": 64}),
    "rembert": ("RemBertModel", "RemBertConfig", {**NARROW, "input_embedding_size": 64}),
    "roberta": ("RobertaModel", "RobertaConfig", SMALL),
    "roformer": ("RoFormerModel", "RoFormerConfig", SMALL),
    "splinter": ("SplinterModel", "SplinterConfig", NARROW),
    "squeezebert": ("SqueezeBertModel", "SqueezeBertConfig", SMALL),
    "t5_encoder": ("T5EncoderModel", "T5Config", T5),
    "xglm": ("XGLMModel", "XGLMConfig", {"vocab_size": 100, "d_model": 128, "ffn_dim": 256, "num_layers": 2, "attention_heads": 4,
                                        "use_cache": False}),
    "xlm": ("XLMModel", "XLMConfig", {"vocab_size": 100, "emb_dim": 128, "n_layers": 2, "n_heads": 4}),
    "xlm_roberta": ("XLMRobertaModel", "XLMRobertaConfig", SMALL),
    "xmod": ("XmodModel", "XmodConfig", {**NARROW, "languages": ["en_XX"], "default_language": "en_XX"}),
    "yoso": ("YosoModel", "YosoConfig", {**NARROW, "use_expectation": True}),
}

CODERS = {"vocab_size": 100, "encoder_layers": 2, "decoder_layers": 2, "use_cache": False}
NARROW_CODERS = {**CODERS, "d_model": 128, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 256,
                 "decoder_ffn_dim": 256}

# Takes words read and words written.
PAIRS = {
    "bart": ("BartModel", "BartConfig", {**CODERS, "d_model": 256, "encoder_attention_heads": 8, "decoder_attention_heads": 8,
                                        "encoder_ffn_dim": 512, "decoder_ffn_dim": 512}),
    "led": ("LEDModel", "LEDConfig", {**NARROW_CODERS, "attention_window": 8}),
    "m2m_100": ("M2M100Model", "M2M100Config", NARROW_CODERS),
    "marian": ("MarianModel", "MarianConfig", {**NARROW_CODERS, "decoder_vocab_size": 100, "pad_token_id": 0}),
    "mbart": ("MBartModel", "MBartConfig", NARROW_CODERS),
    "pegasus": ("PegasusModel", "PegasusConfig", NARROW_CODERS),
    "prophetnet": ("ProphetNetModel", "ProphetNetConfig",
                   {"vocab_size": 100, "hidden_size": 128, "num_encoder_layers": 2, "num_decoder_layers": 2,
                    "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4, "encoder_ffn_dim": 256, "decoder_ffn_dim": 256,
                    "use_cache": False}),
}

SOUND = {"vocab_size": 32, "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256,
         "conv_dim": [32] * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}

# Takes the samples of a sound.
SOUNDS = {
    "data2vec_audio": ("Data2VecAudioModel", "Data2VecAudioConfig", {**SOUND, "num_conv_pos_embeddings": 3}),
    "hubert": ("HubertModel", "HubertConfig", SOUND),
    "sew": ("SEWModel", "SEWConfig", {**SOUND, "conv_dim": [32] * 13, "squeeze_factor": 2}),
    "wav2vec2": ("Wav2Vec2Model", "Wav2Vec2Config", SOUND),
    "wavlm": ("WavLMModel", "WavLMConfig", SOUND),
}

VIT = {"num_hidden_layers": 2, "hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 256}
STAGES = {"depths": [1, 1, 2, 1], "embed_dim": 48}

# Takes images.
IMAGES = {
    "clip_vision": ("CLIPVisionModel", "CLIPVisionConfig", VIT),
    "cvt": ("CvtModel", "CvtConfig", {}),
    "data2vec_vision": ("Data2VecVisionModel", "Data2VecVisionConfig", {**VIT, "use_relative_position_bias": True}),
    "dpt": ("DPTForDepthEstimation", "DPTConfig",
            {**VIT, "num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3], "image_size": 224,
             "neck_hidden_sizes": [16, 24, 32, 48], "fusion_hidden_size": 32}),
    "glpn": ("GLPNForDepthEstimation", "GLPNConfig", {}),
    "hf_beit": ("BeitModel", "BeitConfig", {**VIT, "use_relative_position_bias": True}),
    "hf_convnext": ("ConvNextModel", "ConvNextConfig", {"depths": [1, 1, 2, 1]}),
    "hf_convnextv2": ("ConvNextV2Model", "ConvNextV2Config", {"depths": [1, 1, 2, 1]}),
    "hf_deit": ("DeiTModel", "DeiTConfig", {"num_hidden_layers": 2}),
    "hf_efficientformer": ("EfficientFormerModel", "EfficientFormerConfig", {}),
    "hf_focalnet": ("FocalNetModel", "FocalNetConfig", STAGES),
    "hf_levit": ("LevitModel", "LevitConfig", {}),
    "hf_mobilenet_v2": ("MobileNetV2Model", "MobileNetV2Config", {}),
    "hf_mobilevit": ("MobileViTModel", "MobileViTConfig", {"image_size": 224}),
    "hf_poolformer": ("PoolFormerModel", "PoolFormerConfig", {}),
    "hf_regnet": ("RegNetModel", "RegNetConfig", {"depths": [1, 1, 1, 1]}),
    "hf_resnet": ("ResNetModel", "ResNetConfig", {"depths": [1, 1, 1, 1]}),
    "hf_segformer": ("SegformerModel", "SegformerConfig", {}),
    "hf_swin": ("SwinModel", "SwinConfig", STAGES),
    "hf_swinv2": ("Swinv2Model", "Swinv2Config", STAGES),
    "hf_vit": ("ViTModel", "ViTConfig", {"num_hidden_layers": 2}),
    "mobilenet_v1": ("MobileNetV1Model", "MobileNetV1Config", {}),
    "segformer_segmenter": ("SegformerForSemanticSegmentation", "SegformerConfig", {}),
    "swiftformer": ("SwiftFormerModel", "SwiftFormerConfig", {}),
    "van": ("VanModel", "VanConfig", {"depths": [1, 1, 2, 1]}),
    "vit_msn": ("ViTMSNModel", "ViTMSNConfig", VIT),
    "yolos": ("YolosModel", "YolosConfig", {**VIT, "image_size": [224, 224], "num_detection_tokens": 10}),
}


def detr():
    import transformers

    backbone = transformers.ResNetConfig(depths=[1, 1, 1, 1], out_features=["stage4"])
    settings = {**NARROW_CODERS, "d_model": 64, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "num_queries": 10}
    settings = {name: value for name, value in settings.items() if name not in ("vocab_size", "use_cache")}
    return First(made("DetrModel", "DetrConfig", {**settings, "use_timm_backbone": False, "backbone_config": backbone}), ["pixel_values"])


def whisper():
    settings = {**NARROW_CODERS, "d_model": 64, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_source_positions": 50,
                "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "suppress_tokens": None,
                "begin_suppress_tokens": None}
    return First(made("WhisperModel", "WhisperConfig", settings), ["input_features", "decoder_input_ids"], use_cache=False)


class Decoder(nn.Module):
    """A GPT-2 that takes what it saw before and gives it on, as decoders are exported."""

    def __init__(self):
        super().__init__()
        self.model = made("GPT2LMHeadModel", "GPT2Config", {"vocab_size": 100, "n_layer": 2, "n_embd": 256, "n_head": 8})

    def forward(self, input_ids, k0, v0, k1, v1):
        out = self.model(input_ids, past_key_values=((k0, v0), (k1, v1)), use_cache=True, return_dict=False)
        (a, b), (c, d) = out[1]
        return out[0], a, b, c, d


PAST = {name: (("batch", 8, "past", 32), "image") for name in ["k0", "v0", "k1", "v1"]}


def all_of(table, names, inputs, **fixed):
    return {name: (lambda row=row: First(made(*row), names, **fixed), inputs) for name, row in table.items()}


HUGGING = {
    **all_of(TEXTS, list(TEXT), TEXT),
    **all_of(PAIRS, list(BOTH), BOTH, use_cache=False),
    **all_of(SOUNDS, ["input_values"], WAVE),
    **all_of(IMAGES, ["pixel_values"], IMAGE),
    **all_of({"t5": ("T5Model", "T5Config", T5)}, list(BOTH), BOTH),
    **all_of({"rwkv": ("RwkvModel", "RwkvConfig", {**SMALL, "hidden_size": 64})}, list(IDS), IDS, use_cache=False),
    **all_of({"xlnet": ("XLNetModel", "XLNetConfig", {"vocab_size": 100, "d_model": 128, "n_layer": 2, "n_head": 4, "d_inner": 256})},
             list(TEXT), TEXT, use_mems=False),
    **all_of({"audio_spectrogram": ("ASTModel", "ASTConfig", {**VIT, "max_length": 128})}, ["input_values"],
             {"x": (("batch", 128, 128), "image")}),
    **all_of({"swin2sr": ("Swin2SRForImageSuperResolution", "Swin2SRConfig",
                          {"depths": [1, 1], "num_heads": [2, 2], "embed_dim": 32, "image_size": 64})}, ["pixel_values"],
             {"x": (("batch", 3, 64, 64), "image")}),
    "detr": (detr, IMAGE),
    "whisper": (whisper, {"x": (("batch", 80, 100), "image"), "decoder_input_ids": BOTH["decoder_input_ids"]}),
    "gpt2_past": (Decoder, {**IDS, **PAST}),
}
