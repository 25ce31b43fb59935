#!/bin/bash
# one card
python run_clm.py \
  --model_name_or_path Qwen/Qwen2.5-0.5B \
  --dataset_name wikitext \
  --per_device_train_batch_size=2 \
  --block_size 1024 \
  --torch_dtype bfloat16 \
  --gradient_checkpointing \
  --optim adamw_torch_fused \
  --do_train --output_dir /tmp/out
