// What the program and its libraries define, and redirecting what they use.
#include "base/loaded_object.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace plait {
namespace {

const LoadedObject& object_with(const std::vector<LoadedObject>& all, const void* address) {
  const auto found = std::ranges::find_if(all, [&](const LoadedObject& o) { return o.has(address); });
  EXPECT_NE(found, all.end());
  return *found;
}

pid_t other() { return -7; }

TEST(LoadedObject, TheProgramComesFirst) {
  const std::vector<LoadedObject> all = LoadedObject::all();
  ASSERT_GT(all.size(), 2U);
  EXPECT_TRUE(all[0].has(reinterpret_cast<void*>(&other)));
  int local = 0;
  EXPECT_TRUE(std::ranges::none_of(all, [&](const LoadedObject& o) { return o.has(&local); }));
}

TEST(LoadedObject, FindsWhatALibraryDefines) {
  const std::vector<LoadedObject> all = LoadedObject::all();
  void* const real = dlsym(RTLD_DEFAULT, "getppid");
  const LoadedObject& libc = object_with(all, real);
  EXPECT_EQ(libc.find("getppid"), real);
  EXPECT_EQ(libc.find("getppi"), nullptr);
  EXPECT_EQ(libc.find("getppid_"), nullptr);
  EXPECT_EQ(libc.find(""), nullptr);
  EXPECT_EQ(all[0].find("getppid"), nullptr) << "the program uses it, and does not define it";
}

/// By the table as by going through all.
TEST(LoadedObject, FindsEachNameThatItLists) {
  const std::vector<LoadedObject> all = LoadedObject::all();
  int names = 0;
  for (const LoadedObject& o : all) {
    o.for_each_definition([&](std::string_view name, void*) {
      ++names;
      EXPECT_NE(o.find(name), nullptr) << name;
    });
  }
  EXPECT_GT(names, 2000);
}

TEST(LoadedObject, RedirectsUses) {
  const std::vector<LoadedObject> all = LoadedObject::all();
  void* const real = dlsym(RTLD_DEFAULT, "getppid");
  const auto redirect = [&](void* to) {
    return all[0].redirect_uses([&](std::string_view name) { return name == "getppid" ? to : nullptr; });
  };
  const pid_t parent = getppid();
  EXPECT_TRUE(redirect(reinterpret_cast<void*>(&other)));
  EXPECT_EQ(getppid(), -7);
  EXPECT_TRUE(redirect(real));
  EXPECT_EQ(getppid(), parent);
}

TEST(LoadedObject, RedirectsWhoeverLooksUpADefinition) {
  void* const library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library);
  void* const real = dlsym(library, "cbrtf");
  ASSERT_TRUE(real);
  const std::vector<LoadedObject> all = LoadedObject::all();
  const LoadedObject& libm = object_with(all, real);
  const auto redirect = [&](void* to) {
    return libm.redirect_definitions([&](std::string_view name) { return name == "cbrtf" ? to : nullptr; });
  };
  EXPECT_TRUE(redirect(reinterpret_cast<void*>(&other)));
  EXPECT_EQ(dlsym(library, "cbrtf"), reinterpret_cast<void*>(&other));
  EXPECT_TRUE(redirect(real));
  EXPECT_EQ(dlsym(library, "cbrtf"), real);
  EXPECT_NE(dlsym(library, "cbrt"), real);
  dlclose(library);
}

}  // namespace
}  // namespace plait
