# two cards of one machine, an older trainer
WORLD_SIZE=2 CUDA_VISIBLE_DEVICES=0,1 python -m torch.distributed.launch --nproc_per_node=2 --master_port=3192 finetune.py \
  --base_model 'huggyllama/llama-7b' --data_path 'd.json' --output_dir './lora' \
  --per_gpu_train_batch_size 4 --fp16 --lora_r 8 --use_lora True --lora_target_modules q_proj,v_proj --optim adamw_hf --max_seq_length 256 --learning_rate $LR
