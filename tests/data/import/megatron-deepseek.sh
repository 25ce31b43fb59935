ARGS="--tensor-model-parallel-size 1 --pipeline-model-parallel-size 2 --expert-model-parallel-size 8 --use-distributed-optimizer \
 --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 --qk-layernorm \
 --num-layers 16 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --num-experts 64 --moe-router-topk 8 \
 --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 --moe-layer-freq ([0]*3+[1]*13) --moe-grouped-gemm \
 --swiglu --normalization RMSNorm --untie-embeddings-and-output-weights --seq-length 4096 --micro-batch-size 1 --global-batch-size 512 \
 --recompute-granularity selective --recompute-modules mla_up_proj layernorm --bf16 --vocab-size 129280 --attention-dropout 0.0 --hidden-dropout 0.0"
torchrun --nproc-per-node=8 --nnodes=8 --rdzv-backend=c10d pretrain_gpt.py $ARGS
