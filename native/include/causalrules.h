uint32_t cr_version(void);
