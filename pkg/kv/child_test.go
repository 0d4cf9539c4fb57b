package kv

const childURL = "KV_TEST_CHILD_URL"

func childMain(string) int { return 0 }
