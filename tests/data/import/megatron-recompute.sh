#!/bin/bash
#SBATCH --nodes=4 --gpus-per-node=8 --ntasks-per-node=8
srun python -u pretrain_gpt.py --tensor-model-parallel-size 8 --pipeline-model-parallel-size 1 --sequence-parallel \
  --recompute-granularity full --recompute-method block --recompute-num-layers 20 --distribute-saved-activations \
  --num-layers 40 --hidden-size 5120 --num-attention-heads 40 --seq-length 4096 --max-position-embeddings 4096 \
  --swiglu --normalization RMSNorm --position-embedding-type rope --untie-embeddings-and-output-weights --ffn-hidden-size 13824 \
  --micro-batch-size 2 --global-batch-size 64 --bf16 --accumulate-allreduce-grads-in-fp32 --use-flash-attn --transformer-impl transformer_engine \
  --attention-dropout 0 --hidden-dropout 0 --tokenizer-type Llama2Tokenizer --no-gradient-accumulation-fusion
