accelerate launch --num_processes 2 --mixed_precision bf16 trl/scripts/sft.py \
    --model_name_or_path Qwen/Qwen3-8B \
    --dataset_name some/dataset \
    --dtype bfloat16 \
    --max_length 4096 \
    --packing \
    --per-device-train-batch-size 2 \
    --gradient_checkpointing \
    --use_peft --lora_r 32 --lora_alpha 16 --lora_target_modules q_proj k_proj v_proj o_proj \
    --use_liger_kernel --bf16
