from hookline.log.file import FileSink, default_log_path, log_path
from hookline.log.memory import MemorySink
from hookline.log.records import HookLogger, LogLevel, LogRecord, LogSink
from hookline.log.redact import Redactor

__all__ = [
    "FileSink",
    "HookLogger",
    "LogLevel",
    "LogRecord",
    "LogSink",
    "MemorySink",
    "Redactor",
    "default_log_path",
    "log_path",
]
