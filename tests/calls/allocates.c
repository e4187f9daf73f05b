/* Allocates in all ways: alone, with threads, in children. Its system calls are recorded (calls.py). */
#include "work.h"

int main(void)
{
    work_alone();
    work_in_a_child(work_alone);
    work_with_threads();
    work_alone();
    work_in_a_child(work_alone);
    return 0;
}
