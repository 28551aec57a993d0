"""A local page in the browser to try pipelines on, made with Streamlit."""
