export CUDA_VISIBLE_DEVICES=0,1,2,3
MODEL=/data/models/Qwen2.5-7B-Instruct
DS=configs/zero3.json

GPUS_PER_NODE=${GPUS_PER_NODE:-8}
NNODES=2
deepspeed --num_gpus $GPUS_PER_NODE --num_nodes $NNODES --master_port 29500 src/train.py \
  --deepspeed $DS \
  --model_name_or_path "$MODEL" \
  --model_max_length 8192 \
  --bf16 \
  --per_device_train_batch_size 1 \
  --gradient_accumulation_steps $((128 / (GPUS_PER_NODE * NNODES))) \
  --gradient_checkpointing true \
  --attn_implementation flash_attention_2 \
  --report_to none 2>&1 | tee log.txt
