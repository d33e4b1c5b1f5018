package weights

import (
	"fmt"
	"strconv"
	"strings"
)

// modules are the names of a block's parts here and in Hugging Face's LLaMA.
var modules = [][2]string{
	{"attn_norm", "input_layernorm"}, {"mlp_norm", "post_attention_layernorm"},
	{"q", "self_attn.q_proj"}, {"k", "self_attn.k_proj"}, {"v", "self_attn.v_proj"}, {"o", "self_attn.o_proj"},
	{"gate", "mlp.gate_proj"}, {"up", "mlp.up_proj"}, {"down", "mlp.down_proj"},
}

var outside = [][2]string{{"embed.weight", "model.embed_tokens.weight"}, {"final_norm.weight", "model.norm.weight"}, {"lm_head.weight", "lm_head.weight"}}

// Foreign is the name that Hugging Face's LLaMA has for a tensor. What that model does not have (factors, gates) keeps the last part of its name.
func Foreign(name string) string {
	for _, o := range outside {
		if name == o[0] {
			return o[1]
		}
	}
	layer, module, kind, ok := cutName(name)
	if !ok {
		return name
	}
	for _, m := range modules {
		if module == m[0] {
			return fmt.Sprintf("model.layers.%d.%s.%s", layer, m[1], kind)
		}
	}
	return name
}

// cutName takes "layers.3.q.A" apart.
func cutName(name string) (layer int, module, kind string, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 4 || parts[0] != "layers" {
		return 0, "", "", false
	}
	layer, err := strconv.Atoi(parts[1])
	return layer, parts[2], parts[3], err == nil
}
