"""What programs in Python share; `lib.sh` has the same for scripts."""
import os
import threading
import time


def flush_each_second():
    """Has the page cache written out each second from now on, until the program ends."""
    def flush():
        while True:
            time.sleep(1)
            os.sync()

    threading.Thread(target=flush, daemon=True).start()
