"""A company with a key, and this machine, which has the public one."""

from pathlib import Path

import pytest
from tests.fleet.company import Company


@pytest.fixture
def company(own_home: Path, tmp_path: Path) -> Company:
    """The company; its machine has no policy yet."""
    del own_home
    return Company(tmp_path)
