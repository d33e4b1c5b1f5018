/* isa_table.h - the functions of one instruction set, under the name BT_ISA. Included last by isa_*.c. */
#include "body_rows.h"
#include "body_vocab.h"
#include "body_attention.h"
#include "body_variant.h"

const bt_isa BT_ISA = {
    .name = BT_ISA_NAME,
    .body =
        {
            [BT_AXPBY] = axpby,
            [BT_FILL] = fill,
            [BT_NORM_STATS] = norm_stats,
            [BT_NORM_RSTD] = norm_rstd,
            [BT_NORM_APPLY] = norm_apply,
            [BT_NORM_BWD_STATS] = norm_bwd_stats,
            [BT_NORM_BWD_APPLY] = norm_bwd_apply,
            [BT_LATENT] = latent,
            [BT_LATENT_BWD] = latent_bwd,
            [BT_SWIGLU] = swiglu,
            [BT_SWIGLU_BWD] = swiglu_bwd,
            [BT_ROPE] = rope,
            [BT_ATTENTION] = attention,
            [BT_ATTENTION_BWD] = attention_bwd,
            [BT_EMBED] = embed,
            [BT_EMBED_BWD] = embed_bwd,
            [BT_XENT_MAX] = xent_max,
            [BT_XENT_SUM] = xent_sum,
            [BT_XENT_LOSS] = xent_loss,
            [BT_SUMSQ] = sumsq,
            [BT_ADAMW] = adamw,
            [BT_FIND_NON_FINITE] = find_non_finite,
            [BT_CROSS] = cross,
            [BT_CROSS_BWD] = cross_bwd,
            [BT_SCATTER] = scatter,
            [BT_PICK] = pick,
            [BT_DRAW] = draw,
            [BT_ADAM] = adam,
        },
    .combine = combine,
    .combine_into = combine_into,
    .column_sums = column_sums,
    .attention_bytes = attention_bytes,
};
