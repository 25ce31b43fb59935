#!/bin/bash
TP=2; CP=1; PP=1
SEQ_LENGTH=${SEQ_LENGTH:-8192}
MODEL_ARGS="
    --use-mcore-models
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 8
    --kv-channels 128
    --seq-length $SEQ_LENGTH
    --max-position-embeddings $SEQ_LENGTH
    --position-embedding-type rope
    --rotary-base 1000000
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --swiglu
    --normalization RMSNorm
    --init-method-std 0.0134
    --untie-embeddings-and-output-weights
    --disable-bias-linear
"
TRAIN="--micro-batch-size 1 --global-batch-size 128 --bf16 --grad-reduce-in-bf16 --cross-entropy-loss-fusion --optimizer adam --lr 0.00015"
DIST="--tensor-model-parallel-size $TP --context-parallel-size $CP --pipeline-model-parallel-size $PP --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py $MODEL_ARGS $TRAIN $DIST \
  --fp8-format hybrid --fp8-amax-history-len 1024 --fp8-param-gather \
  --tokenizer-type HuggingFaceTokenizer --tokenizer-model meta-llama/Meta-Llama-3-8B --mock-data
