/* The buffers of streams that are no terminals belong to the process, also where they are first used inside of a scope.
 * The test program's own checks print only when they fail. */
#include "epoch.h"

int main(void)
{
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    enter(epoch);
    CHECK(printf("a line\n") == 7);
    (void)getchar();
    ALIVE(epoch, 0);
    leave(epoch);
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_close(epoch, 0, &report), TSLAB_OK);
    CHECK(report.survivors == 0);
    check_gone(epoch);
    return 0;
}
