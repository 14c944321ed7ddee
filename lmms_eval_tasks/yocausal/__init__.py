"""YoCausal: do video diffusion models expect time to run forward?"""
