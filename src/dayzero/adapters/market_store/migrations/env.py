"""What Alembic runs: every migration that is missing, in the one transaction of the connection that it is given."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
