// The program itself; what it does is in program.h, which tests call in their own process.
#include <exception>

#include "cli/program.h"

int main(int argc, char** argv) {
  std::set_terminate(evener::cli::end_at_once);
  return evener::cli::run_command_line(argc, argv);
}
