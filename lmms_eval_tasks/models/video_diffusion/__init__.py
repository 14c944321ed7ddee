"""`video_diffusion`: measures how well a video diffusion model denoises a clip and its reversal."""
