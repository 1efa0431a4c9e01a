/* What the calls of shared notifications have in common (SHAN_comm.h, SHAN_segment.h). C and C++. */
#ifndef PLAIT_SHAN_TYPE_H
#define PLAIT_SHAN_TYPE_H

/* What a shared segment is for. Both are alike in plait. */
#define SHAN_DATA 0
#define SHAN_TYPE 1

/* What calls return. */
#define SHAN_SUCCESS 0
#define SHAN_FAIL (-1)  /* a test has found nothing */
#define SHAN_ERROR (-2) /* bad arguments, or no memory: one line on stderr says which */

#endif
