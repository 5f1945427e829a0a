#include "base/folder_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "base/test_folder.h"

namespace evener {
namespace {

TEST(FolderLock, IsSeenByOthersAsLongAsItIsHeld) {
  const test::TestFolder folder;
  EXPECT_EQ(folder_lock_state(folder.path()), LockState::kFree);
  std::optional<FolderLock> lock(folder.path());
  EXPECT_EQ(lock->found(), LockState::kFree);
  EXPECT_EQ(folder_lock_state(folder.path()), LockState::kHeld);
  EXPECT_EQ(FolderLock(folder.path()).found(), LockState::kHeld);
  EXPECT_EQ(folder_lock_state(folder.path()), LockState::kHeld) << "the refused one has taken it away";
  lock.reset();
  EXPECT_EQ(folder_lock_state(folder.path()), LockState::kFree);
  EXPECT_EQ(folder_lock_state(folder / "none"), LockState::kUnknown);
}

TEST(FolderLock, GoesWithAKilledProcess) {
  const test::TestFolder folder;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FolderLock lock(folder.path());
    if (write(ready[1], "x", 1) != 1) _exit(1);
    while (true) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(folder_lock_state(folder.path()), LockState::kHeld);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(folder_lock_state(folder.path()), LockState::kFree);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace evener
