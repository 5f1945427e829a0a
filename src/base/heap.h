// Memory that was freed, but that the allocator still keeps.
#pragma once

namespace evener {

/// Gives freed memory back to the operating system, which the allocator would keep for later. For use after large
/// blocks that won't be needed again, such as the weights that a network was compiled from.
void give_back_freed_memory();

}  // namespace evener
