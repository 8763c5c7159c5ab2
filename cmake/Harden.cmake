# What distributions harden their packages with, as far as the compiler knows it. docs/security.md says what each does.
include(CheckCCompilerFlag)

function(zklock_harden target)
    foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection)
        string(MAKE_C_IDENTIFIER "ZKLOCK_HAS${flag}" known)
        check_c_compiler_flag(${flag} ${known})
        target_compile_options(${target} INTERFACE $<$<BOOL:${${known}}>:${flag}>)
    endforeach()
    target_link_options(${target} INTERFACE LINKER:-z,relro,-z,now,-z,noexecstack)
    # It needs optimisation. A level of the builder's own stays.
    string(TOUPPER "CMAKE_C_FLAGS_${CMAKE_BUILD_TYPE}" flags)
    if("${CMAKE_C_FLAGS} ${${flags}}" MATCHES "-O[1-3s]" AND NOT CMAKE_C_FLAGS MATCHES "_FORTIFY_SOURCE")
        target_compile_options(${target} INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
    endif()
endfunction()
