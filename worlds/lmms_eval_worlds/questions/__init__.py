"""Questions of all tasks, drawn from what is known of scenes; nothing here needs the physics engine."""
