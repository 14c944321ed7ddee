"""Tables, references, panels and figures of reports."""
