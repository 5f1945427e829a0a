#include "base/heap.h"

#include <malloc.h>

namespace evener {

void give_back_freed_memory() {
  malloc_trim(0);
}

}  // namespace evener
