// The memory that was freed and not given back yet.
#pragma once

namespace evener {

/// Gives what the process has freed back to the operating system: after large things that came once, such as the
/// weights that a network was compiled from. The allocator would keep it for later.
void give_back_freed_memory();

}  // namespace evener
