CUDA_VISIBLE_DEVICES=0,1 accelerate launch \
    --config_file examples/accelerate/fsdp_config.yaml \
    src/train.py --stage sft --do_train --finetuning_type lora --model_name_or_path meta-llama/Llama-2-70b-hf \
    --quantization_bit 4 --template llama2 --cutoff_len 1024 --bf16 --per_device_train_batch_size 1 --dataset d --output_dir o
