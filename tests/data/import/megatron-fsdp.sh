python -m torch.distributed.run --nproc_per_node 8 pretrain_gpt.py --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params \
  --use-distributed-optimizer --micro-batch-size 4 --global-batch-size 128 --tensor-model-parallel-size 1 --seq-length 8192 \
  --tokenizer-model /models/Llama-3.1-8B --bf16 --attention-dropout 0.0 --hidden-dropout 0.0 --no-create-attention-mask-in-dataloader
