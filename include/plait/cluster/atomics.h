// Included in front of each source by `plait cc --cluster`. With -fno-inline-atomics gcc calls a function for each __atomic_fetch_add, but
// not for the builtins below: these would be the processor's instructions, which reach no other node's memory. So they become calls too.
#ifndef PLAIT_CLUSTER_ATOMICS_H
#define PLAIT_CLUSTER_ATOMICS_H
#ifndef __ASSEMBLER__

#define __atomic_test_and_set(at, order) (__atomic_exchange_n((volatile unsigned char*)(at), 1, __ATOMIC_SEQ_CST) != 0)
#define __atomic_clear(at, order) __atomic_store_n((volatile unsigned char*)(at), 0, __ATOMIC_SEQ_CST)

#define __sync_fetch_and_add(at, value, ...) __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_sub(at, value, ...) __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_or(at, value, ...) __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_and(at, value, ...) __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_xor(at, value, ...) __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_nand(at, value, ...) __atomic_fetch_nand(at, value, __ATOMIC_SEQ_CST)
#define __sync_add_and_fetch(at, value, ...) __atomic_add_fetch(at, value, __ATOMIC_SEQ_CST)
#define __sync_sub_and_fetch(at, value, ...) __atomic_sub_fetch(at, value, __ATOMIC_SEQ_CST)
#define __sync_or_and_fetch(at, value, ...) __atomic_or_fetch(at, value, __ATOMIC_SEQ_CST)
#define __sync_and_and_fetch(at, value, ...) __atomic_and_fetch(at, value, __ATOMIC_SEQ_CST)
#define __sync_xor_and_fetch(at, value, ...) __atomic_xor_fetch(at, value, __ATOMIC_SEQ_CST)
#define __sync_nand_and_fetch(at, value, ...) __atomic_nand_fetch(at, value, __ATOMIC_SEQ_CST)
#define __sync_lock_test_and_set(at, value, ...) __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST)
#define __sync_lock_release(at, ...) __atomic_store_n(at, 0, __ATOMIC_SEQ_CST)
#define __sync_bool_compare_and_swap(at, old, wanted, ...)                                       \
  __extension__({                                                                                \
    __typeof__((void)0, *(at)) plait_old_ = (old);                                               \
    __atomic_compare_exchange_n(at, &plait_old_, wanted, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  })
#define __sync_val_compare_and_swap(at, old, wanted, ...)                                        \
  __extension__({                                                                                \
    __typeof__((void)0, *(at)) plait_old_ = (old);                                               \
    __atomic_compare_exchange_n(at, &plait_old_, wanted, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    plait_old_;                                                                                  \
  })

#endif
#endif
